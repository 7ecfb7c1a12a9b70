// Package fused is what the test of fused operations must find: sums of
// products as the compiler may fuse them, beside one that it may not.
package fused

// Add may be fused.
func Add(a, b, c float64) float64 { return a*b + c }

// Sub may be fused, on targets that can subtract so.
func Sub(a, b, c float64) float64 { return c - a*b }

// Half is a product too: a division by a power of two becomes one.
func Half(a, c float64) float64 { return c + a/2 }

// Apart may not be fused: the conversion rounds.
func Apart(a, b, c float64) float64 { return float64(a*b) + c }
