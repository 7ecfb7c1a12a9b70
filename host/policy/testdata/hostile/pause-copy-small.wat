;; Copies 15 bytes, which cost as much as none, again and again.
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
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32)
    loop $again
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      i32.const 8192
      i32.const 16384
      i32.const 15
      memory.copy
      br $again
    end
    unreachable))
