// Package wasm reads WebAssembly modules of core 2.0, refuses those that a
// policy plugin may not be, and rewrites the others so that every call into
// them is metered. It imports the standard library only; it knows neither an
// engine nor the contract with the guests, which the caller hands in.
//
// # Verify and Instrument
//
// Verify answers whether a module keeps the rules and names the rule, the
// function and the offset where it does not. Both functions end in time and
// memory linear in the length of the input, whatever the input is.
//
// # Fuel
//
// Instrument adds a counter of weighted units, FuelGlobal. Every instruction
// has a weight: a load or a store 4, a division or a remainder of integers 4, a
// product, a quotient, a square root or a change of width of floats 16 (vectors
// too; with subnormal numbers they are slow), a call_indirect 4, a call of an
// import and a ref.func 50, block, loop, else and end 0, any other 1. A
// memory.fill, memory.copy or memory.init of n bytes costs 1 + n/16 (rounded
// down), a memory.grow by n pages that is granted 50 + 4096·n, one that is denied
// 50 and a count in DeniedGlobal. Where ways through a function meet the compiler
// moves values: block, loop, if, br, br_if and br_table cost n/4 more where the
// construct, or the branch, takes n values along, and (n-64)/4 more where the
// function has n locals, more than 64.
//
// On a call that returns, the units used are exactly the sum of the weights of
// the instructions executed. Units are charged ahead, in stretches of code that
// run together or not at all, so on a trap the sum may also hold the rest of the
// stretches that were begun. Either way the figure is the same on every engine
// and architecture.
//
// The counter is tested at function entries, at loop heads, at the first charge
// behind a call, before a stretch that calls an import, and before a bulk
// operation; below 0 the guest executes unreachable. Between two tests a call can
// overrun by the code of one function, each instruction of it once. A call may
// therefore return with a counter below 0.
//
// # Depth
//
// DepthGlobal holds the number of calls that may still nest. A function keeps
// its own depth in a local and writes that minus one to the global before each
// call that it makes, so nothing has to be undone on the way out; a function
// with 256 locals and operands or more takes off one for each 256 of them
// besides. A function that is entered with the global below 0 executes
// unreachable. So recursion stops at the same depth everywhere, and long before
// the engine's own stack is full. The host sets the global before every call.
//
// # Soundness
//
// The engine need only validate the rewritten module: it is valid if and only
// if the original is (apart from what an engine caps, such as the number of
// locals). What Instrument inserts into a function has the type [] -> [], or
// [i32] -> [i32] right before or behind an instruction that takes or gives an
// i32 there, so it neither helps nor hinders the typing of what is around it,
// not even where the stack is polymorphic. It opens no label around code of the
// guest, so branch depths mean the same. Globals and locals are appended, so
// indices mean the same, and an index beyond the original count is an error
// here: the guest cannot name the counters. Code is written anew with every
// integer in its shortest form, so that engine and rewriter cannot read it
// differently. Types and functions are not added.
// Custom sections other than the names are dropped.
package wasm
