module github.com/cluster-network-operator/cno/e2e/components/pause

go 1.26
