// Package outlook says when jobs are expected to start and where: it puts all
// policies in force, plugins too, on a copy of a state and lets the simulator run
// the deciding loop forward. It may import the core, the policy stacks and the
// types of the API; it has no clock and starts no goroutine. The state it is given
// is used up, so whoever asks gives a copy: an outlook changes nothing, and equal
// states give equal outlooks unless time cut one of them short.
package outlook
