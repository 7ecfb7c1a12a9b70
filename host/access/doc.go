// Package access says who may do what: roles, actions, the one table between
// them, and tokens as text and as what is kept of them. It is core and imports
// host/poise alone; randomness and the time of day come in as arguments. It
// always holds that a role may do an action only where the table says so, that a
// token's secret is never kept, and that nobody hands out more than they have.
package access
