// Package quantity holds the grammar of host/resource against the Quantity of
// Kubernetes. It is a module of its own, so that the product's go.mod stays
// free of apimachinery. Both must agree on what a text means; the few texts on
// which they do not are listed here, each with its reason, and nothing else is
// let through.
package quantity

import (
	"math"
	"strings"
	"testing"

	kube "k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/resource"
)

// names has one dimension of either unit.
var names = []string{"cpu", "memory"}

// scaled gives an amount in the dimension's base unit as a Quantity.
func scaled(name string, amount int64) kube.Quantity {
	return *kube.NewScaledQuantity(amount, scale(name))
}

func scale(name string) kube.Scale {
	if resource.UnitOf(name) == resource.Bytes {
		return 0
	}
	return kube.Milli
}

// refusedByPoise says why Poise may refuse a text that Kubernetes takes, or "".
func refusedByPoise(name, text string, q kube.Quantity) string {
	most := scaled(name, math.MaxInt64)
	switch {
	case strings.IndexAny(strings.TrimLeft(text, "+-."), "0123456789") != 0:
		return "no number before the suffix: Kubernetes reads 0, Poise never makes 0 of nonsense"
	case strings.HasSuffix(text, "n") || strings.HasSuffix(text, "u"):
		return "finer than any dimension: the Kubernetes API stores thousandths at the finest"
	case len(text) > 128:
		return "longer than any amount needs"
	case q.Sign() < 0:
		return "negative"
	case q.Cmp(most) >= 0:
		return "beyond an int64 of base units: Kubernetes caps or keeps more digits"
	}
	return ""
}

// check compares both readings of a text.
func check(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, name, text string,
) {
	t.Helper()
	q, kubeErr := kube.ParseQuantity(text)
	request, err := resource.ParseRequest(name, text)
	if kubeErr != nil {
		if err == nil {
			t.Fatalf("%s: %q is %d, Kubernetes refuses it: %v", name, text, request, kubeErr)
		}
		return
	}
	if err != nil {
		if refusedByPoise(name, text, q) == "" {
			t.Fatalf("%v; Kubernetes reads %s", err, q.String())
		}
		return
	}
	up := q.DeepCopy()
	exact := up.RoundUp(scale(name))
	if up.Cmp(scaled(name, request)) != 0 {
		t.Fatalf("%s: %q is %d as a request, Kubernetes rounds up to %s", name, text, request, up.String())
	}
	capacity, err := resource.ParseCapacity(name, text)
	if err != nil {
		t.Fatalf("%v; as a request it is %d", err, request)
	}
	if q.Cmp(scaled(name, capacity)) < 0 || request-capacity > 1 || !exact && request-capacity != 1 {
		t.Fatalf("%s: %q is %d as a capacity and %d as a request, Kubernetes reads %s", name, text, capacity, request, q.String())
	}
}

// texts draws well-formed quantities of every magnitude and texts that are
// nearly well formed. Exponents have at most two digits: for long ones Quantity
// takes forever.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[+-]?[0-9]{1,20}(|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|n|u)`),
		rapid.StringMatching(`[+]?[0-9]{1,4}\.[0-9]{0,12}(|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)`),
		rapid.StringMatching(`0?\.[0-9]{1,70}(|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)`),
		rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{0,6})?[eE][+-]?[0-9]{1,2}`),
		rapid.StringMatching(`[-+]{0,2}[0-9.]{0,5}[eEinumkKMGTP]{0,3}[-+]{0,1}[0-9]{0,2}`),
		rapid.StringMatching(`[-+]{0,2}[0-9.]{0,5}[-+.eEinumkKMGTP _x]{0,4}[0-9]{0,2}`),
	)
}

func TestSameMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.SampledFrom(names).Draw(t, "name"), texts().Draw(t, "text"))
	})
}

func TestKubernetesReadsWhatPoisePrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		shift := rapid.IntRange(0, 62).Draw(t, "shift")
		amount := rapid.Int64Range(0, math.MaxInt64).Draw(t, "amount") >> shift << rapid.IntRange(0, shift).Draw(t, "back")
		text := resource.Format(name, amount)
		q, err := kube.ParseQuantity(text)
		if err != nil || q.Cmp(scaled(name, amount)) != 0 {
			t.Fatalf("%s: %d prints as %q, which Kubernetes reads as %s, %v", name, amount, text, q.String(), err)
		}
		check(t, name, text)
	})
}

func TestPoiseReadsWhatKubernetesPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		amount := rapid.Int64Range(0, math.MaxInt64).Draw(t, "amount")
		format := rapid.SampledFrom([]kube.Format{kube.DecimalSI, kube.BinarySI, kube.DecimalExponent}).Draw(t, "format")
		q := scaled(name, amount)
		q.Format = format
		got, err := resource.ParseRequest(name, q.String())
		if err != nil || got != amount {
			t.Fatalf("%s: %d is %s to Kubernetes, which Poise reads as %d, %v", name, amount, q.String(), got, err)
		}
	})
}

// The differences, one by one.
func TestRefusedByPoiseOnly(t *testing.T) {
	f := func(name, text, kubernetes string) {
		t.Helper()
		if q, err := kube.ParseQuantity(text); err != nil || q.Cmp(kube.MustParse(kubernetes)) != 0 {
			t.Errorf("%s: Kubernetes reads %q as %s, %v; expected %s", name, text, q.AsDec(), err, kubernetes)
		}
		if amount, err := resource.ParseRequest(name, text); err == nil {
			t.Errorf("%s: Poise reads %q as %d, expected an error", name, text, amount)
		}
		if amount, err := resource.ParseCapacity(name, text); err == nil {
			t.Errorf("%s: Poise reads %q as %d, expected an error", name, text, amount)
		}
	}
	f("cpu", "-1", "-1")
	f("memory", "-0.5Gi", "-512Mi")

	f("memory", "8Ei", "9223372036854775807") // capped
	f("memory", "16Ei", "9223372036854775807")
	f("memory", "10E", "10E")
	f("memory", "1e30", "1e30")
	f("cpu", "9.3e15", "9300e12")
	f("cpu", "1E", "1E")

	f("cpu", "100n", "100n")
	f("cpu", "100u", "100u")
	f("memory", "1u", "1u")

	f("cpu", "+", "0")
	f("cpu", "-", "0")
	f("cpu", ".", "0")
	f("cpu", "m", "0")
	f("memory", "Gi", "0")
	f("memory", ".Ki", "0")
	f("cpu", "e3", "0")

	f("cpu", "1e4294967296", "1") // the exponent wraps in an int32
	f("memory", "1"+strings.Repeat("0", 128)+"e-99", "1e29")
	f("cpu", "0."+strings.Repeat("0", 130)+"1", "1n")
}

func TestRefusedByKubernetesOnly(t *testing.T) {
	f := func(name, text string, amount int64) {
		t.Helper()
		if q, err := kube.ParseQuantity(text); err == nil {
			t.Errorf("%s: Kubernetes reads %q as %s, expected an error", name, text, q.String())
		}
		if got, err := resource.ParseRequest(name, text); err != nil || got != amount {
			t.Errorf("%s: Poise reads %q as %d, %v; expected %d", name, text, got, err, amount)
		}
	}
	// An exponent beyond an int64 on a number for which it does not matter.
	f("cpu", "0e99999999999999999999", 0)
	f("cpu", "1e-99999999999999999999", 1)
}

func TestReadDifferently(t *testing.T) {
	f := func(name, text, kubernetes string, request, capacity int64) {
		t.Helper()
		if q, err := kube.ParseQuantity(text); err != nil || q.Cmp(kube.MustParse(kubernetes)) != 0 {
			t.Errorf("%s: Kubernetes reads %q as %s, %v; expected %s", name, text, q.AsDec(), err, kubernetes)
		}
		if got, err := resource.ParseRequest(name, text); err != nil || got != request {
			t.Errorf("%s: Poise reads %q as %d, %v as a request; expected %d", name, text, got, err, request)
		}
		if got, err := resource.ParseCapacity(name, text); err != nil || got != capacity {
			t.Errorf("%s: Poise reads %q as %d, %v as a capacity; expected %d", name, text, got, err, capacity)
		}
	}
	// Kubernetes rounds up to 10^-9 first, so its integer is not the floor.
	f("memory", "0.9999999999", "1", 1, 0)
	f("cpu", "1.99999999999", "2", 2000, 1999)
	// The exponent wraps in an int32 there.
	f("memory", "5e-4294967296", "5", 1, 0)
}
