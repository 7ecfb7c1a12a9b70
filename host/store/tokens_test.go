package store

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := TokenRow{ID: "a", Hash: []byte{1}, Tenant: "acme", Role: "viewer", Name: "n'\"", Created: 2, Expires: 9}
	b := TokenRow{ID: "b", Hash: []byte{2}, Tenant: "bolt", Role: "submitter", Created: 1}
	c := TokenRow{ID: "c", Hash: []byte{3}, Role: "operator", Created: 3}
	for _, row := range []TokenRow{a, b, c} {
		if err := s.PutToken(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	same := c
	same.ID = "d"
	for _, row := range []TokenRow{a, same} {
		if err := s.PutToken(t.Context(), row); err == nil {
			t.Errorf("a second token of %+v is taken", row)
		}
	}
	f := func(tenant string, want ...TokenRow) {
		t.Helper()
		if got, err := s.Tokens(t.Context(), tenant); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, expected %+v", tenant, got, err, want)
		}
	}
	f("", b, a, c)
	f("acme", a)
	f("none")
	if err := s.RevokeToken(t.Context(), "a", 5); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeToken(t.Context(), "a", 6); err != nil {
		t.Fatal(err)
	}
	a.Revoked = 5
	if err := s.DeleteTokens(t.Context(), "bolt"); err != nil {
		t.Fatal(err)
	}
	refused(t, s.DeleteTokens(t.Context(), ""), poise.Invalid, "tenant: none")
	refused(t, s.RevokeToken(t.Context(), "b", 1), poise.NotFound, `token "b"`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	f("", a, c)
	_, err := s.Token(t.Context(), "b")
	refused(t, err, poise.NotFound, `token "b"`)
	if got, err := s.Token(t.Context(), "a"); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v, expected %+v", got, err, a)
	}
}

func TestAudit(t *testing.T) {
	s := open(t, t.TempDir())
	all := []AuditRow{
		{Seq: 1, At: now, Who: "token a", Role: "viewer", Tenant: "acme", Action: "cancel-job", Object: "job 'x'", Status: 403, Detail: "d"},
		{Seq: 2, At: now, Who: "uid 0", Role: "admin", Action: "join-node", Object: "n1", Status: 201},
		{Seq: 3, At: now, Who: "uid 0", Role: "admin", Tenant: "acme", Action: "cancel-job", Status: 200},
	}
	put(t, s, Batch{Audit: all[:1]}) // without an event
	put(t, s, Batch{Records: records(1, 2), Audit: all[1:]})
	f := func(q AuditQuery, want ...AuditRow) {
		t.Helper()
		if got, err := s.Audit(t.Context(), q); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %+v, %v, expected %+v", q, got, err, want)
		}
	}
	f(AuditQuery{}, all[2], all[1], all[0])
	f(AuditQuery{Tenant: "acme"}, all[2], all[0])
	f(AuditQuery{Limit: 2}, all[2], all[1])
	f(AuditQuery{Before: 2}, all[0])
	f(AuditQuery{Before: 1<<64 - 1, Tenant: "acme", Limit: 1}, all[2])
	f(AuditQuery{Tenant: "none"})
}

// Tokens that are valid no more are kept, but not without end.
func TestDeadTokens(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range maxDead + 10 {
		row := TokenRow{ID: fmt.Sprint(i), Hash: fmt.Append(nil, i), Tenant: "acme", Created: int64(i), Revoked: 1}
		switch i {
		case 0:
			row.Revoked, row.Expires = 0, now+1
		case 1:
			row.Tenant = "bolt"
		case 2, 3, 4:
			row.Revoked, row.Expires = 0, now
		}
		if err := s.PutToken(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Tokens(t.Context(), "")
	if err != nil || len(list) != maxDead+2 || list[0].ID != "0" || list[1].ID != "1" || list[2].ID != "10" {
		t.Errorf("%d, %+v, %v, expected the valid one, the other tenant's and the latest %d", len(list), list[:3], err, maxDead)
	}
}

// Decisions of before the column get the tenant of their job.
func TestDecisionsOfTenant(t *testing.T) {
	dir := t.TempDir()
	unpack(t, filepath.Join("testdata", "v1.db.gz"), filepath.Join(dir, databaseFile))
	s := open(t, dir)
	job, err := s.Jobs(t.Context(), JobQuery{})
	if err != nil || len(job) == 0 {
		t.Fatal(job, err)
	}
	for _, d := range decisionsOf(t, s, DecisionQuery{Limit: maxLimit}) {
		j, err := s.Job(t.Context(), d.Job)
		if err == nil && j.Tenant != d.Tenant {
			t.Errorf("decision %d on a job of %q is of %q", d.Seq, j.Tenant, d.Tenant)
		}
	}
	put(t, s, Batch{Decisions: []DecisionRow{{Seq: 100, Job: "x", Tenant: "acme"}, {Seq: 101, Job: "y", Tenant: "bolt"}, {Seq: 102, Job: "x", Tenant: "acme"}}})
	if got := decisionsOf(t, s, DecisionQuery{Tenant: "acme"}); len(got) != 2 || got[0].Seq != 100 || got[1].Seq != 102 {
		t.Errorf("%+v, expected those of acme", got)
	}
}

func decisionsOf(t *testing.T, s *Store, q DecisionQuery) []DecisionRow {
	t.Helper()
	list, err := s.Decisions(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
