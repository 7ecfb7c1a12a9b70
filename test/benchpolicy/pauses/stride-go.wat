;; Writes to each page of 16 MiB in turn, so that every write misses.
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 256)
  (data (i32.const 16) "\20\00\00\00\2b\00\00\00")
  (data (i32.const 32) "{\"name\":\"x\",\"version\":\"1.0.0\",\"columns\":[]}")
  (func (export "poise_abi_v1") (result i32)
    i32.const 0)
  (func (export "poise_describe") (result i32)
    i32.const 16)
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    i32.const 1024)
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    loop $again
      local.get $job
      i32.const 4160
      i32.add
      i32.const 0xfffff8
      i32.and
      local.tee $job
      i64.const 1
      i64.store
      br $again
    end
    unreachable))
