;; Spins for nearly what a node may cost, then says that its loss is 0. It is not
;; row-pure: every decision asks about every node.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\20\00\00\00\2e\00\00\00")
  (data (i32.const 32) "{\"name\":\"spin\",\"version\":\"1.0.0\",\"columns\":[]}")
  (func (export "poise_abi_v1") (result i32)
    i32.const 0)
  (func (export "poise_describe") (result i32)
    i32.const 16)
  (func (export "poise_alloc") (param $size i32) (param $align i32) (result i32)
    i32.const 1024)
  (func (export "poise_score") (param $table i32) (param $job i32) (param $out i32) (result i32) (local $value i32) (local $rows i32) (local $turns i32)
    local.get $out
    i32.load
    local.set $value
    local.get $table
    i32.load offset=8
    local.set $rows
    loop $again
      local.get $rows
      if
        i32.const 2900
        local.set $turns
        loop $spin
          local.get $turns
          i32.const 1
          i32.sub
          local.tee $turns
          br_if $spin
        end
        local.get $value
        f64.const 0
        f64.store
        local.get $value
        i32.const 8
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
