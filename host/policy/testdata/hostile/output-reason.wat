;; Every reason is one that the manifest does not declare.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\20\00\00\00\33\00\00\00")
  (data (i32.const 32) "{\"name\":\"x\",\"version\":\"1.0.0\",\"reasons\":{\"1\":\"no\"}}")
  (func (export "poise_abi_v1") (result i32)
    i32.const 0)
  (func (export "poise_describe") (result i32)
    i32.const 16)
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    i32.const 1024)
  (func (export "poise_filter") (param $table i32) (param $job i32) (param $out i32) (result i32)
    (local $value i32) (local $rows i32)
    local.get $out
    i32.load
    local.set $value
    local.get $table
    i32.load offset=8
    local.set $rows
    loop $again
      local.get $rows
      if
        local.get $value
        i32.const 2
        i32.store
        local.get $value
        i32.const 4
        i32.add
        local.set $value
        local.get $rows
        i32.const 1
        i32.sub
        local.set $rows
        br $again
      end
    end
    i32.const 0))
