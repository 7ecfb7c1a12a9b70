;; A chain of conversions of vectors, each of which is many instructions.
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
    v128.const f32x4 1e3 2e3 3e3 4e3
    local.set $v
    loop $again
      local.get $v
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      f32x4.convert_i32x4_u
      i32x4.trunc_sat_f32x4_u
      local.set $v
      br $again
    end
    unreachable))
