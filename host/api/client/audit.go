package client

import "time"

// AuditRecord is what somebody changed, or tried to.
type AuditRecord struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Role   string    `json:"role"`
	Tenant string    `json:"tenant,omitempty" doc:"Whose thing it is; nothing where it is no tenant's"`
	Action string    `json:"action" example:"cancel-job" doc:"Id of the operation"`
	Object string    `json:"object"`
	Status int       `json:"status" doc:"HTTP status of the answer"`
	Detail string    `json:"detail,omitempty" doc:"Why it was refused"`
}

// AuditFilter says which records are listed, newest first.
type AuditFilter struct {
	Limit int    // at most so many, 1 to MaxPage
	After string // AuditPage.Next of the page before, "" = from the first
}

// AuditPage is some of the records that were asked for.
type AuditPage struct {
	Records []AuditRecord `json:"records"`
	Next    string        `json:"next,omitempty" doc:"The parameter after of the next page; nothing where this is the last"`
}
