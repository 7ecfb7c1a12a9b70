// Command bench measures how fast pods are bound on a real API server: by nobody,
// which is the ceiling, by kube-scheduler, and by poise, natively and with a
// tenant's policy. It imports the planes of this module and nothing of the product,
// which it builds and runs as a user does. Each measurement has a plane of its own,
// and all of them are taken in one run, in turns.
package main
