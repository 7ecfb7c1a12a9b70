package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/poise"
)

const (
	// skew is how far the clocks of the provider and of this machine may be apart.
	skew = time.Minute
	// maxLife bounds how long a token may be valid: what a group gives is lost that
	// long after the person left it, at the latest.
	maxLife = 24 * time.Hour
	// maxUser bounds a person's name in bytes.
	maxUser = 254
)

// algorithms are those that a token may be signed with. Each has a private key,
// which the provider alone has.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Options say who vouches for people, and what they may do.
type Options struct {
	Issuer, ClientID       string
	UserClaim, GroupsClaim string
	// Grants, asked at each request, says what the members of a group may do, as
	// access.ParseGrant reads it.
	Grants       func() map[string]string
	TenantHeader string // names the tenant that a request is for
	Log          *slog.Logger
	Now          func() time.Time
}

// People tells people by ID tokens. It is safe for use by several goroutines.
type People struct {
	options Options
	keys    *keys
}

// New does not ask the provider: that it is down is the concern of whoever shows
// a token of it.
func New(o Options) *People { return &People{o, newKeys(o.Issuer, o.Log, o.Now)} }

// Look begins to read the provider's keys before anybody needs them, and does not
// wait: an issuer that is wrong stands in the log from the start.
func (p *People) Look() {
	p.keys.mu.Lock()
	defer p.keys.mu.Unlock()
	p.keys.begin()
}

// Principal tells who a request is from. Where it shows nothing that could be an
// ID token, that is nobody.
func (p *People) Principal(r *http.Request) (*access.Principal, error) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(text, "ey") || strings.Count(text, ".") != 2 {
		return nil, nil
	}
	user, groups, err := p.verify(r.Context(), text)
	if err != nil {
		return nil, err
	}
	g, err := choose(p.options.Grants(), groups, poise.TenantID(r.Header.Get(p.options.TenantHeader)))
	if err != nil {
		return nil, err
	}
	return &access.Principal{Who: "person " + user, Role: g.Role, Tenant: g.Tenant}, nil
}

func refused(format string, args ...any) error {
	return &poise.Error{Kind: poise.Denied, Detail: "ID token: " + fmt.Sprintf(format, args...)}
}

// verify gives the person that a token names, and their groups.
func (p *People) verify(ctx context.Context, text string) (user string, groups []string, err error) {
	signed, err := jose.ParseSigned(text, algorithms)
	if err != nil {
		return "", nil, refused("%v, expected one that is signed by %s", err, p.options.Issuer)
	}
	found, err := p.keys.find(ctx, signed.Signatures[0].Header.KeyID)
	if err != nil {
		return "", nil, err
	}
	now := p.options.Now()
	config := oidc.Config{ClientID: p.options.ClientID, Now: func() time.Time { return now.Add(-skew) }}
	for _, a := range algorithms {
		config.SupportedSigningAlgs = append(config.SupportedSigningAlgs, string(a))
	}
	token, err := oidc.NewVerifier(p.options.Issuer, &oidc.StaticKeySet{PublicKeys: found}, &config).Verify(ctx, text)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return "", nil, refused("it ended at %s, expected a new one", expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		return "", nil, refused("%v", err)
	case token.IssuedAt.After(now.Add(skew)):
		return "", nil, refused("it is of %s, expected none of the future", token.IssuedAt.UTC().Format(time.RFC3339))
	case token.Expiry.Sub(token.IssuedAt) > maxLife:
		return "", nil, refused("valid for %v, expected at most %v", token.Expiry.Sub(token.IssuedAt), maxLife)
	}
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return "", nil, refused("%v", err)
	}
	var party string
	if json.Unmarshal(claims["azp"], &party) == nil && party != p.options.ClientID {
		return "", nil, refused("azp: %.80q, expected %q", party, p.options.ClientID)
	}
	if user, err = p.user(claims); err != nil {
		return "", nil, err
	}
	return user, groupsIn(claims[p.options.GroupsClaim]), nil
}

// user gives the person's name, which is for the audit log.
func (p *People) user(claims map[string]json.RawMessage) (string, error) {
	var user string
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if err := json.Unmarshal(claims[p.options.UserClaim], &user); err != nil || user == "" || len(user) > maxUser || strings.ContainsFunc(user, odd) {
		return "", refused("%s: no text of at most %d bytes that can be printed, expected the person's name", p.options.UserClaim, maxUser)
	}
	if p.options.UserClaim == "email" && string(claims["email_verified"]) == "false" {
		return "", refused("email: not verified, expected an address that is the person's")
	}
	return user, nil
}

// groupsIn reads a claim that is one text or several; others give no group.
func groupsIn(claim json.RawMessage) []string {
	var one string
	if json.Unmarshal(claim, &one) == nil && one != "" {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(claim, &several) == nil {
		return several
	}
	return nil
}

// choose gives what the groups of a person give: the strongest role of all
// tenants, or the strongest in the tenant that is wanted, or in the only one.
func choose(known map[string]string, groups []string, wanted poise.TenantID) (access.Grant, error) {
	best := map[poise.TenantID]access.Grant{} // by tenant; under "" is one of all tenants
	for _, group := range groups {
		text, ok := known[group]
		if !ok {
			continue
		}
		g, err := access.ParseGrant(text)
		if err != nil {
			return access.Grant{}, err
		}
		if before, ok := best[g.Tenant]; !ok || g.Role.Stronger(before.Role) {
			best[g.Tenant] = g
		}
	}
	for _, tenant := range []poise.TenantID{"", wanted} {
		if g, ok := best[tenant]; ok {
			return g, nil
		}
	}
	tenants := slices.Sorted(maps.Keys(best))
	switch {
	case len(tenants) == 0:
		return access.Grant{}, refused("none of the person's groups may do anything here, expected one that an administrator has in api.oidc.groups")
	case len(tenants) > 1 && wanted == "":
		return access.Grant{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("tenant: none, expected one of %q, which the person's groups are for: --tenant NAME", tenants)}
	}
	return best[tenants[0]], nil
}
