import { addParam, quote, quoteAll } from "./manifest";
import { Table } from "./table";
import { Sym } from "./view";

// Param is one declared parameter with a value of type T.
export class Param<T> {
  constructor(private index: u32) {}

  // of gives the tenant's value, or the default.
  @inline
  of(table: Table): T {
    return load<T>(table.params + (<usize>this.index << 3));
  }
}

function head(name: string, type: string): string {
  return '{"name":' + quote(name) + ',"type":"' + type + '"';
}

// f64Param declares a number within [min, max]. Without a default, which is NaN,
// a tenant must give the value.
export function f64Param(name: string, byDefault: f64 = NaN, min: f64 = -Infinity, max: f64 = Infinity): Param<f64> {
  let json = head(name, "f64");
  if (!isNaN(byDefault)) json += ',"default":' + byDefault.toString();
  if (isFinite(min)) json += ',"min":' + min.toString();
  if (isFinite(max)) json += ',"max":' + max.toString();
  return new Param<f64>(addParam(json + "}"));
}

// i64Param declares a whole number within [min, max].
export function i64Param(name: string, byDefault: i64, min: i64 = i64.MIN_VALUE, max: i64 = i64.MAX_VALUE): Param<i64> {
  let json = head(name, "i64") + ',"default":' + byDefault.toString();
  if (min != i64.MIN_VALUE) json += ',"min":' + min.toString();
  if (max != i64.MAX_VALUE) json += ',"max":' + max.toString();
  return new Param<i64>(addParam(json + "}"));
}

export function boolParam(name: string, byDefault: bool): Param<bool> {
  return new Param<bool>(addParam(head(name, "bool") + ',"default":' + (byDefault ? "true}" : "false}")));
}

// symParam declares a text, seen by the policy as a symbol. "" is the absent one.
export function symParam(name: string, byDefault: string = ""): Param<Sym> {
  return new Param<Sym>(addParam(head(name, "symbol") + ',"default":' + quote(byDefault) + "}"));
}

// enumParam declares a choice, seen by the policy as the index in values. The
// first is the default.
export function enumParam(name: string, values: Array<string>): Param<u32> {
  return new Param<u32>(addParam(head(name, "enum") + ',"default":' + quote(values[0]) + ',"values":' + quoteAll(values) + "}"));
}
