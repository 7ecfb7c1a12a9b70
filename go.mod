module github.com/poise-sched/poise

go 1.26
