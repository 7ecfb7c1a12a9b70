;; Says that it is row-pure, and writes over what it was given: the loss of a row is
;; its capacity:cpu, which then is one more. A host that leaves columns in memory
;; has to find out.
(module
  (memory (export "memory") 4)
  (data (i32.const 16) "{\"name\":\"scribble\",\"version\":\"1.0.0\",\"columns\":[\"capacity:cpu\"],\"row_pure\":true}")
  (data (i32.const 8) "\10\00\00\00\50\00\00\00")
  (func (export "poise_abi_v1") (result i32) (i32.const 0))
  (func (export "poise_describe") (result i32) (i32.const 8))
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    (i32.const 4096))
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $cpu i32) (local $loss i32) (local $end i32)
    (local.set $cpu (i32.load offset=4 (i32.load offset=48 (local.get $table))))
    (local.set $loss (i32.load (local.get $out)))
    (local.set $end (i32.add (local.get $loss) (i32.shl (i32.load offset=8 (local.get $table)) (i32.const 3))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $loss) (local.get $end)))
        (f64.store (local.get $loss) (f64.load (local.get $cpu)))
        (f64.store (local.get $cpu) (f64.add (f64.load (local.get $cpu)) (f64.const 1)))
        (local.set $cpu (i32.add (local.get $cpu) (i32.const 8)))
        (local.set $loss (i32.add (local.get $loss) (i32.const 8)))
        (br $next)))
    (i32.const 0)))
