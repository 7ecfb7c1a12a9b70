package kube

// Guard says whether this replica may still write.
type Guard interface {
	// Leading gives nil while a write may be sent.
	Leading() error
	// Term is the number of the lead, larger than that of each lead before.
	Term() int64
}
