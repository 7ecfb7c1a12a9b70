package cli

import (
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

func TestShort(t *testing.T) {
	f := func(name string, q client.Quantity, want string) {
		t.Helper()
		if got := short(name, q); got != want {
			t.Errorf("%s %s: %s, expected %s", name, q, got, want)
		}
	}
	f("memory", "8018044Ki", "7.65Gi")
	f("memory", "131901812Ki", "126Gi")
	f("memory", "0", "0")
	f("memory", "64Mi", "64Mi")
	f("memory", "500M", "500M")
	f("memory", "1.5Gi", "1.5Gi")
	f("memory", "1234", "1.21Ki")
	f("memory", "1023", "1023")
	f("memory", "1048575Ki", "1Gi")
	f("memory", "1047900Ki", "1Gi")
	f("memory", "9223372036854775807", "8Ei")
	f("memory", "-8018044Ki", "-8018044Ki")
	f("storage", "1234567M", "1.12Ti")
	f("cpu", "12345", "12345")
	f("gpu", "500m", "500m")
}
