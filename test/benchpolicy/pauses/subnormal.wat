;; A chain of products of subnormal numbers, which processors leave to microcode.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\20\00\00\00\2b\00\00\00")
  (data (i32.const 32) "{\"name\":\"x\",\"version\":\"1.0.0\",\"columns\":[]}")
  (func (export "poise_abi_v1") (result i32)
    i32.const 0)
  (func (export "poise_describe") (result i32)
    i32.const 16)
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    i32.const 1024)
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32) (local $v f64)
    f64.const 0x0.0000000000fffp-1022
    local.set $v
    loop $again
      local.get $v
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      f64.const 1
      f64.mul
      local.set $v
      br $again
    end
    unreachable))
