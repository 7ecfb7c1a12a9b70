package poise

import "testing"

func TestTaintValidate(t *testing.T) {
	f := func(want string, x Taint) {
		t.Helper()
		refuses(t, x.Validate(), want)
	}
	f("", Taint{"gpu", "", NoSchedule})
	f("", Taint{"gpu", "yes", NoExecute})
	f("taint: key: empty, expected a taint key", Taint{"", "yes", NoSchedule})
	f(`taint: gpu: effect "", expected NoSchedule, NoExecute or PreferNoSchedule`, Taint{"gpu", "yes", ""})
	f(`taint: gpu: effect "noschedule", expected NoSchedule, NoExecute or PreferNoSchedule`, Taint{"gpu", "yes", "noschedule"})
}

func TestTolerationValidate(t *testing.T) {
	f := func(want string, o Toleration) {
		t.Helper()
		refuses(t, o.Validate(), want)
	}
	f("", Toleration{Key: "gpu"})
	f("", Toleration{Key: "gpu", Value: "yes", Effect: NoSchedule})
	f("", Toleration{Key: "gpu", Exists: true, Effect: NoExecute})
	f("", Toleration{Exists: true})
	f("toleration: key: empty without exists, expected a taint key", Toleration{})
	f("toleration: key: empty without exists, expected a taint key", Toleration{Value: "yes"})
	f(`toleration: gpu: value "yes" with exists, expected no value`, Toleration{Key: "gpu", Value: "yes", Exists: true})
	f(`toleration: gpu: effect "Prefer", expected NoSchedule, NoExecute, PreferNoSchedule or none`, Toleration{Key: "gpu", Effect: "Prefer"})
}

func TestTolerates(t *testing.T) {
	taint := &Taint{Key: "gpu", Value: "yes", Effect: NoSchedule}
	f := func(want bool, tolerations ...Toleration) {
		t.Helper()
		if got := Tolerates(tolerations, taint); got != want {
			t.Errorf("%+v tolerate %+v: %v, expected %v", tolerations, *taint, got, want)
		}
	}
	f(false)
	f(true, Toleration{Key: "gpu", Value: "yes"})
	f(true, Toleration{Key: "gpu", Value: "yes", Effect: NoSchedule})
	f(false, Toleration{Key: "gpu", Value: "yes", Effect: NoExecute})
	f(false, Toleration{Key: "gpu", Value: "no"})
	f(false, Toleration{Key: "gpu"}) // the value "" is a value
	f(false, Toleration{Key: "npu", Value: "yes"})
	f(true, Toleration{Key: "gpu", Exists: true})
	f(false, Toleration{Key: "gpu", Exists: true, Effect: NoExecute})
	f(false, Toleration{Key: "npu", Exists: true})
	f(true, Toleration{Exists: true})
	f(true, Toleration{Exists: true, Effect: NoSchedule})
	f(false, Toleration{Exists: true, Effect: NoExecute})
	// One that matches is enough; two halves are not one.
	f(true, Toleration{Key: "npu", Exists: true}, Toleration{Key: "gpu", Value: "yes"})
	f(false, Toleration{Key: "gpu", Value: "no", Effect: NoSchedule}, Toleration{Key: "gpu", Value: "yes", Effect: NoExecute})

	taint = &Taint{Key: "gpu", Effect: NoExecute}
	f(true, Toleration{Key: "gpu"})
	f(false, Toleration{Key: "gpu", Value: "yes"})
	f(true, Toleration{Exists: true, Effect: NoExecute})
}

// A taint that only prefers keeps nobody away; who does not tolerate it minds.
func TestSoftTaint(t *testing.T) {
	f := func(taint Taint, tolerates, minds bool, tolerations ...Toleration) {
		t.Helper()
		if got, minded := Tolerates(tolerations, &taint), Minds(tolerations, &taint); got != tolerates || minded != minds {
			t.Errorf("%s: tolerated %t, minded %t", taint.String(), got, minded)
		}
	}
	soft := Taint{"spot", "yes", PreferNoSchedule}
	f(soft, true, true)
	f(soft, true, true, Toleration{Key: "spot", Value: "no"})
	f(soft, true, true, Toleration{Key: "spot", Exists: true, Effect: NoSchedule})
	f(soft, true, false, Toleration{Key: "spot", Exists: true, Effect: PreferNoSchedule})
	f(soft, true, false, Toleration{Exists: true})
	f(Taint{"spot", "yes", NoSchedule}, false, false)
}
