// Package oidc takes ID tokens of an OpenID Connect provider for who people are,
// and gets them for a person on a terminal. It may import host/access and
// host/poise, and adapts go-oidc. It always holds that a token counts only if the
// configured provider signed it, for this installation, with a key of its own and
// an algorithm of the list here, and that no request makes the provider be asked
// more often than a limit says.
package oidc
