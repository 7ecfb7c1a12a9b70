;; Answers with what its parameters say, to try every answer and every failure:
;; how 1 NaN, 2 infinity, 3 minus infinity, 4 minus zero, 5 trap, 6 overwrites the
;; whole arena; spend is iterations a row, keeps adds up calls in a global.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "{\"name\":\"answer\",\"version\":\"1.0.0\",\"columns\":[\"capacity:cpu\"],\"params\":[{\"name\":\"loss\",\"type\":\"f64\",\"default\":0},{\"name\":\"how\",\"type\":\"i64\",\"default\":0},{\"name\":\"reason\",\"type\":\"i64\",\"default\":0},{\"name\":\"mask\",\"type\":\"i64\",\"default\":0},{\"name\":\"status\",\"type\":\"i64\",\"default\":0},{\"name\":\"spend\",\"type\":\"i64\",\"default\":0},{\"name\":\"keeps\",\"type\":\"i64\",\"default\":0}],\"reasons\":{\"1\":\"one\",\"255\":\"last\"},\"chooses_devices\":true,\"row_pure\":true,\"loss_range\":[-1000,1000]}")
  (data (i32.const 8) "\10\00\00\00\d1\01\00\00")
  (global $heap (mut i32) (i32.const 4096))
  (global $calls (mut f64) (f64.const 0))
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
  (func $spend (param $n i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next))))
  (func (export "poise_filter") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $params i32) (local $row i32)
    (local.set $params (i32.load offset=28 (local.get $table)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (i32.load offset=8 (local.get $table))))
        (call $spend (i64.load offset=40 (local.get $params)))
        (i32.store (i32.add (i32.load (local.get $out)) (i32.shl (local.get $row) (i32.const 2)))
          (i32.load offset=16 (local.get $params)))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (i32.const 0))
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $params i32) (local $row i32) (local $how i32) (local $v f64)
    (local.set $params (i32.load offset=28 (local.get $table)))
    (local.set $how (i32.load offset=8 (local.get $params)))
    (local.set $v (f64.load offset=0 (local.get $params)))
    (if (i32.eq (local.get $how) (i32.const 1)) (then (local.set $v (f64.const nan))))
    (if (i32.eq (local.get $how) (i32.const 2)) (then (local.set $v (f64.const inf))))
    (if (i32.eq (local.get $how) (i32.const 3)) (then (local.set $v (f64.const -inf))))
    (if (i32.eq (local.get $how) (i32.const 4)) (then (local.set $v (f64.const -0))))
    (if (i32.eq (local.get $how) (i32.const 5)) (then (unreachable)))
    (if (i32.eq (local.get $how) (i32.const 6))
      (then
        (memory.fill (local.get $table) (i32.const 0xff) (i32.sub (i32.shl (memory.size) (i32.const 16)) (local.get $table)))
        (return (i32.const 0))))
    (global.set $calls (f64.add (global.get $calls) (f64.convert_i64_s (i64.load offset=48 (local.get $params)))))
    (local.set $v (f64.add (local.get $v) (global.get $calls)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (i32.load offset=8 (local.get $table))))
        (call $spend (i64.load offset=40 (local.get $params)))
        (f64.store (i32.add (i32.load (local.get $out)) (i32.shl (local.get $row) (i32.const 3))) (local.get $v))
        (i32.store (i32.add (i32.load offset=4 (local.get $out)) (i32.shl (local.get $row) (i32.const 2)))
          (i32.load offset=24 (local.get $params)))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (i32.load offset=32 (local.get $params))))
