// Package stack builds the policy under which a tenant's jobs are planned, from
// what is recorded of it: the settings of the native scorer, the activation of
// the cluster's plugin and that of the tenant's. Daemon, replay, and plans on a
// snapshot build it here, so they plan alike. It may import the core and package
// policy.
//
// A plugin that cannot be loaded is part of the stack too, as one that fails
// every call: its failure rule decides, whatever the cause.
package stack
