;; Counts its calls in memory, as the runtime of stock Go may: it imports WASI.
(module
  (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
  (memory (export "memory") 64)
  (data (i32.const 16) "\00\04\00\00\20\00\00\00") ;; pointer and length of the manifest
  (data (i32.const 1024) "{\"name\":\"bad\",\"version\":\"1.0.0\"}")
  (func (export "poise_abi_v1") (result i32) (i32.const 0))
  (func (export "poise_describe") (result i32) (i32.const 16))
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    (select (i32.const 65536) (i32.const 0) (i32.le_u (local.get $size) (i32.const 4128768))))
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $row i32) (local $at i32)
    (local.set $at (i32.load (local.get $out)))
    (i64.store (i32.const 8) (i64.add (i64.load (i32.const 8)) (i64.const 1)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (i32.load offset=8 (local.get $table))))
        (f64.store (local.get $at) (f64.const 0))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $next)))
    (i32.const 0)))
