;; The same with vectors of four.
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
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32) (local $v v128)
    v128.const i32x4 0xfff 0xfff 0xfff 0xfff
    local.set $v
    loop $again
      local.get $v
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      v128.const f32x4 1 1 1 1
      f32x4.mul
      local.set $v
      br $again
    end
    unreachable))
