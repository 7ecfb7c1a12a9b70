// Package report turns results into what people look at: HTML and SVG of runs,
// classes and decisions, and the figures of benchmarks. It may import every
// package of the core, and nothing in the core knows it. Equal input gives equal
// text, so a report can be compared with the one before.
package report
