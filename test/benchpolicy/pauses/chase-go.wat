;; The same through 16 MiB, which only a module with WASI can have.
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
  ;; One cycle through every cache line behind the first 64 KiB, in an order that
  ;; no processor foresees: line i * 40507 mod 261120 of them.
  (func (export "_initialize") (local $i i32)
    loop $next
      local.get $i
      call $line
      local.get $i
      i32.const 1
      i32.add
      local.tee $i
      call $line
      i32.store
      local.get $i
      i32.const 261120
      i32.lt_u
      br_if $next
    end)
  (func $line (param $i i32) (result i32)
    local.get $i
    i64.extend_i32_u
    i64.const 40507
    i64.mul
    i64.const 261120
    i64.rem_u
    i32.wrap_i64
    i32.const 6
    i32.shl
    i32.const 65536
    i32.add)
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32) (local $v i32)
    i32.const 65536
    local.set $v
    loop $again
      local.get $v
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      i32.load
      local.set $v
      br $again
    end
    unreachable))
