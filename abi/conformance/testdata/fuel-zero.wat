;; Gives memory out from address 0 on, which means that it has none.
(module
  (memory (export "memory") 16)
  (global $next (mut i32) (i32.const 0))
  (data (i32.const 983040) "\10\00\0f\00\3b\00\00\00") ;; pointer and length of the manifest
  (data (i32.const 983056) "{\"name\":\"bad\",\"version\":\"1.0.0\",\"columns\":[\"capacity:cpu\"]}")
  (func (export "poise_abi_v1") (result i32) (i32.const 0))
  (func (export "poise_describe") (result i32) (i32.const 983040))
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (i32.and (i32.add (local.get $size) (i32.const 7)) (i32.const -8)))))
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $row i32) (local $at i32)
    (local.set $at (i32.load (local.get $out)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (i32.load offset=8 (local.get $table))))
        (f64.store (local.get $at) (f64.const 0))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $next)))
    (i32.const 0)))
