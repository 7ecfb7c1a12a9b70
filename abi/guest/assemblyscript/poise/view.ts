// View is an array of the host's, one element per row, without a copy and
// without a bounds check: the sandbox holds whatever index it is given.
@unmanaged
export class View<T> {
  @inline @operator("[]")
  get(row: u32): T {
    return load<T>(changetype<usize>(this) + (<usize>row << alignof<T>()));
  }

  @inline @operator("[]=")
  set(row: u32, value: T): void {
    store<T>(changetype<usize>(this) + (<usize>row << alignof<T>()), value);
  }
}

// Sym is a text as an id. Two are == if and only if the texts are equal; an id
// says nothing else, so there is no order and no arithmetic.
@unmanaged
export class Sym {
  // present is false for the absent and for the empty text.
  @inline
  get present(): bool {
    return changetype<usize>(this) != 0;
  }
}
