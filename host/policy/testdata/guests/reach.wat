;; The loss of every row is what stands at the address of its parameter, and one
;; more, and goes there: 1 in every job where memory was set back.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "{\"name\":\"reach\",\"version\":\"1.0.0\",\"columns\":[\"capacity:cpu\"],\"params\":[{\"name\":\"at\",\"type\":\"i64\"}]}")
  (data (i32.const 8) "\10\00\00\00\63\00\00\00")
  (global $heap (mut i32) (i32.const 4096))
  (func (export "poise_abi_v1") (result i32) (i32.const 0))
  (func (export "poise_describe") (result i32) (i32.const 8))
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (global.get $heap) (i32.shl (memory.size) (i32.const 16)))
      (then
        (if (i32.eq (i32.const -1) (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get $size) (i32.const 16)))))
          (then (return (i32.const 0))))))
    (local.get $at))
  (func (export "poise_filter") (param i32 i32 i32) (result i32) (i32.const 0))
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $at i32) (local $row i32) (local $loss f64)
    (local.set $at (i32.load (i32.load offset=28 (local.get $table))))
    (local.set $loss (f64.add (f64.load (local.get $at)) (f64.const 1)))
    (f64.store (local.get $at) (local.get $loss))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (i32.load offset=8 (local.get $table))))
        (f64.store (i32.add (i32.load (local.get $out)) (i32.shl (local.get $row) (i32.const 3))) (local.get $loss))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (i32.const 0)))
