;; Row-pure, and dear: does not return from a call on more rows than the
;; parameter most says, and spends iterations on each call, however few rows it has.
(module
  (memory (export "memory") 4)
  (data (i32.const 16) "{\"name\":\"fickle\",\"version\":\"1.0.0\",\"columns\":[\"capacity:cpu\"],\"params\":[{\"name\":\"most\",\"type\":\"i64\",\"default\":4096},{\"name\":\"spend\",\"type\":\"i64\",\"default\":0}],\"row_pure\":true}")
  (data (i32.const 8) "\10\00\00\00\af\00\00\00")
  (func (export "poise_abi_v1") (result i32) (i32.const 0))
  (func (export "poise_describe") (result i32) (i32.const 8))
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    (i32.const 4096))
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $params i32) (local $n i64)
    (local.set $params (i32.load offset=28 (local.get $table)))
    (if (i64.gt_u (i64.load32_u offset=8 (local.get $table)) (i64.load (local.get $params)))
      (then (loop $ever (br $ever))))
    (local.set $n (i64.load offset=8 (local.get $params)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i32.const 0)))
