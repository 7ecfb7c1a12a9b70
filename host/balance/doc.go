// Package balance computes the idle-balance loss, Poise's default score. For
// every candidate node it takes the idle weights before the placement, the
// balance degree before and the balance degree predicted after it, forms the
// matrices M1 = [w*b] and M2 = [w*b'], and gives the loss
// L = sum of factor * (M1 - M2) over the columns; the smallest loss wins and a
// negative one means that the balance improves. It comes in two forms, Spread
// over the resources and Demand over what the expected jobs could use, and Auto
// chooses between them. The package imports state, poise, resource and the
// standard library; every product that is added is written float64(a*b), sums
// run in a fixed order and only Sqrt and, for settings other than the defaults,
// Pow come from math, so that losses are the same bits on every build.
package balance
