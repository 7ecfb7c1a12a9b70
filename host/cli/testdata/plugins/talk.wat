;; A filter: refuses nodes of fewer cpu than its parameter "least" and prints a
;; line when it is asked; a "least" of 0 makes it trap.
;; Build: wat2wasm talk.wat -o talk.wasm
(module
  (import "poise" "log" (func $log (param i32 i32)))
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 1024))
  (data (i32.const 16) "{\"name\":\"talk\",\"version\":\"2.1.0\",\"columns\":[\"capacity:cpu\"],\"reasons\":{\"1\":\"too few cores\"},\"params\":[{\"name\":\"least\",\"type\":\"f64\"}]}")
  (data (i32.const 8) "\10\00\00\00\85\00\00\00")
  (data (i32.const 512) "asked about nodes")
  (func (export "poise_abi_v1") (result i32) (i32.const 0))
  (func (export "poise_describe") (result i32) (i32.const 8))
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (global.get $top) (i32.shl (memory.size) (i32.const 16)))
      (then
        (if (i32.eq (memory.grow (i32.shr_u (i32.add (local.get $size) (i32.const 65535)) (i32.const 16))) (i32.const -1))
          (then (return (i32.const 0))))))
    (local.get $at))
  (func (export "poise_filter") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $least f64) (local $row i32) (local $cpu i32) (local $reason i32)
    (call $log (i32.const 512) (i32.const 17))
    (local.set $least (f64.load (i32.load offset=28 (local.get $table))))
    (if (f64.eq (local.get $least) (f64.const 0)) (then (unreachable)))
    (local.set $cpu (i32.load offset=4 (i32.load offset=48 (local.get $table))))
    (local.set $reason (i32.load (local.get $out)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (i32.load offset=8 (local.get $table))))
        (i32.store (local.get $reason) (f64.lt (f64.load (local.get $cpu)) (local.get $least)))
        (local.set $cpu (i32.add (local.get $cpu) (i32.const 8)))
        (local.set $reason (i32.add (local.get $reason) (i32.const 4)))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (i32.const 0)))
