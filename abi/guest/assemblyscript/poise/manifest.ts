// The manifest: every declaration of a policy adds to these lists while the
// module is set up, and poise_describe writes them as JSON once. The host checks
// the result and names what is wrong with it, so nothing is checked here.

let name = "";
let version = "";
let description = "";
const columns = new Array<string>();
const labels = new Array<string>();
const domains = new Array<string>();
const dims = new Array<string>();
const params = new Array<string>();
const reasons = new Array<string>();
const fields = new Array<string>();
let switches = "";
let written: ArrayBuffer | null = null;

// quote gives a text as JSON. Control characters are left as they are: the host
// refuses them anyway.
export function quote(text: string): string {
  return '"' + text.replaceAll("\\", "\\\\").replaceAll('"', '\\"') + '"';
}

export function quoteAll(texts: Array<string>): string {
  const quoted = new Array<string>();
  for (let i = 0; i < texts.length; i++) quoted.push(quote(texts[i]));
  return "[" + quoted.join(",") + "]";
}

// add appends to a list and gives the index.
function add(list: Array<string>, text: string): u32 {
  return <u32>list.push(text) - 1;
}

// plugin names the policy.
export function plugin(called: string, numbered: string, about: string = ""): void {
  name = called;
  version = numbered;
  description = about;
}

// reason declares why a filter refuses a row, and gives the code to write.
export function reason(text: string): u32 {
  return add(reasons, text) + 1;
}

// rowPure says that an answer depends on its row, the job and the blocks only:
// the host keeps the answer until one of them changes.
export function rowPure(): void {
  switches += ',"row_pure":true';
}

// choosesDevices says that poise_score writes device masks too.
export function choosesDevices(): void {
  switches += ',"chooses_devices":true';
}

export function wantsProfile(): void {
  switches += ',"wants_profile":true';
}

// lossRange says that all losses lie within, so that they can be combined with
// other losses by weight.
export function lossRange(low: f64, high: f64): void {
  switches += ',"loss_range":[' + low.toString() + "," + high.toString() + "]";
}

// seededTies orders equal losses by a hash of the job's seed instead of by name.
export function seededTies(): void {
  switches += ',"tie":"seeded"';
}

export function addColumn(text: string): u32 {
  return add(columns, text);
}

export function addLabel(key: string): u32 {
  return add(labels, key);
}

export function addDomain(key: string): u32 {
  return add(domains, key);
}

export function addParam(json: string): u32 {
  return add(params, json);
}

export function addField(text: string): u32 {
  return add(fields, text);
}

// dimension gives the index of a dimension: the order of first mention.
export function dimension(resource: string): u32 {
  const known = dims.indexOf(resource);
  return known < 0 ? add(dims, resource) : <u32>known;
}

// columnCount is how many columns stand before those of the labels.
@inline
export function columnCount(): u32 {
  return <u32>columns.length;
}

@inline
export function dimCount(): u32 {
  return <u32>dims.length;
}

// describe gives the manifest as UTF-8.
export function describe(): ArrayBuffer {
  if (written != null) return written!;
  let texts = "";
  for (let i = 0; i < reasons.length; i++) {
    texts += (i > 0 ? ',"' : '"') + (i + 1).toString() + '":' + quote(reasons[i]);
  }
  written = String.UTF8.encode(
    '{"name":' + quote(name) + ',"version":' + quote(version) + ',"description":' + quote(description) +
      ',"columns":' + quoteAll(columns) + ',"labels":' + quoteAll(labels) + ',"domains":' + quoteAll(domains) +
      ',"params":[' + params.join(",") + '],"reasons":{' + texts + '},"job_fields":' + quoteAll(fields) + switches + "}",
  );
  return written!;
}
