;; Answers with what it was given: the loss of a row is the element of the column
;; that the parameter names, devices weighted by their number. The host's side of
;; the contract is tested against it.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "{\"name\":\"echo\",\"version\":\"1.0.0\",\"columns\":[\"capacity:cpu\",\"allocated:cpu\",\"capacity:memory\",\"capacity:gpu\",\"allocated:gpu\",\"capacity:none\",\"class\",\"taints\",\"selectors\",\"devices\",\"device_model\",\"running_tasks\",\"tenant_tasks\",\"job_tasks\"],\"labels\":[\"zone\",\"absent\"],\"domains\":[\"zone\"],\"params\":[{\"name\":\"column\",\"type\":\"i64\",\"default\":0,\"min\":0,\"max\":15},{\"name\":\"home\",\"type\":\"symbol\",\"default\":\"east\"}],\"wants_profile\":true,\"row_pure\":true}")
  (data (i32.const 8) "\10\00\00\00\b9\01\00\00")
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
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $row i32) (local $rows i32) (local $descriptor i32) (local $kind i32) (local $at i32) (local $stride i32)
    (local $values i32) (local $device i32) (local $v f64)
    (local.set $rows (i32.load offset=8 (local.get $table)))
    (local.set $values (i32.load (local.get $out)))
    (local.set $descriptor (i32.add (i32.load offset=48 (local.get $table))
      (i32.shl (i32.load (i32.load offset=28 (local.get $table))) (i32.const 4))))
    (local.set $kind (i32.load (local.get $descriptor)))
    (local.set $at (i32.load offset=4 (local.get $descriptor)))
    (local.set $stride (i32.load offset=8 (local.get $descriptor)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (local.get $rows)))
        (block $got
          (if (i32.le_u (local.get $kind) (i32.const 2))
            (then (local.set $v (f64.load (local.get $at))) (br $got)))
          (if (i32.or (i32.eq (local.get $kind) (i32.const 5)) (i32.eq (local.get $kind) (i32.const 6)))
            (then (local.set $v (f64.convert_i64_u (i64.load (local.get $at)))) (br $got)))
          (if (i32.eq (local.get $kind) (i32.const 7))
            (then
              (local.set $v (f64.const 0))
              (local.set $device (i32.const 0))
              (block $counted
                (loop $more
                  (br_if $counted (i32.ge_u (local.get $device) (i32.load offset=44 (local.get $table))))
                  (local.set $v (f64.add (local.get $v) (f64.convert_i32_u (i32.mul
                    (i32.add (local.get $device) (i32.const 1))
                    (i32.load16_u (i32.add (local.get $at) (i32.shl (local.get $device) (i32.const 1))))))))
                  (local.set $device (i32.add (local.get $device) (i32.const 1)))
                  (br $more)))
              (br $got)))
          (local.set $v (f64.convert_i32_u (i32.load (local.get $at)))))
        (f64.store (local.get $values) (local.get $v))
        (local.set $values (i32.add (local.get $values) (i32.const 8)))
        (local.set $at (i32.add (local.get $at) (local.get $stride)))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (i32.const 0)))
