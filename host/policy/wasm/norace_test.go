//go:build !race

package wasm

const slow = false
