package rules

const (
	putBack = "; put the old value back"
	podStay = "pods would keep their old addresses" + putBack
	stay    = "services would keep their old addresses" + putBack
)

// The sentences about changes of a network in use that no table of fields expresses (provider.Field has the others). The operator's check and
// the admission policies use the same ones.
var (
	ServiceNetworkChange  = New("service-network-change", stay)
	ServiceNetworkCorrect = New("service-network-change", stay+", or write %s, which the API server has")
	ClusterNetworkChange  = New("cluster-network-change", podStay)
	ClusterNetworkGrow    = New("cluster-network-change", podStay+", or, where the network's pools can grow, write a shorter prefix that begins at the same address")
	ClusterNetworkEntries = New("cluster-network-change", "adding/removing clusterNetwork entries of the same type is not supported (%d are applied, %d are wanted); put them back")
	ClusterNetworkFixed   = New("cluster-network-change", "network type is %s. changing clusterNetwork entries is only supported for network types whose pools can grow; put back %s")
	ClusterNetworkShrink  = New("cluster-network-shrink", "reducing IP range with a larger CIDR mask for clusterNetwork CIDR is unsupported: nodes may hold blocks outside it; put back %s")
	ClusterNetworkOrder   = New("cluster-network-order", "cannot change the order of clusterNetwork entries: the first one is the primary one; put %s first and leave the others where they were")
	HostPrefixChange      = New("hostprefix-change", "nodes hold blocks of the old length"+putBack)

	ConversionPlatform = New("dual-stack-conversion", "%s does not allow conversion to dual-stack cluster; remove the second network")
	ConversionNetwork  = New("dual-stack-conversion", "network type %s does not allow migrating to/from dual-stack; put back %s")
	ConversionService  = New("dual-stack-conversion", "cannot change primary ServiceNetwork when migrating to/from dual-stack; put back %s")
	ConversionCluster  = New("dual-stack-conversion", "cannot change primary ClusterNetwork when migrating to/from dual-stack; put back %s with hostPrefix %d")
	ConversionFewer    = New("dual-stack-conversion", "the side with two IP families has fewer entries than the side with one; change nothing but the second family")
	ConversionMore     = New("dual-stack-conversion", "cannot add additional ClusterNetwork values of original IP family when migrating to dual stack; leave %s out")

	KubeProxyRemoved = New("services-unserved", "no other component that serves Services was found: without kube-proxy new connections to Services fail"+putBack+", or deploy another service proxy first")
)

// The sentences about spec.migration. Those about the MTU are for networks that change it themselves, unless noted otherwise.
var (
	MigrationType        = New("migration-type", "network type migration is not supported; remove the field")
	MigrationFeatures    = New("migration-features", "network feature migration is not supported; remove the field")
	MigrationUnsupported = New("migration-mtu", "MTU migration is not supported for network type %s; remove the field")
	MigrationMachines    = New("migration-mtu", "this network does not change the links of machines: change those first, on all nodes, then the MTU of pods; to lower both, lower that of pods first; remove the field")
	MigrationBothEnds    = New("migration-mtu", "from and to are both required: the applied MTU and the desired one")
	MigrationRange       = New("migration-mtu", "is out of range; it must be %d to 65535")
	MigrationSame        = New("migration-mtu", "is the same as from; set it to the desired MTU")
	MigrationFrom        = New("migration-mtu", "is not the applied MTU; set it to %d")
	MigrationLinks       = New("migration-mtu", "is more than the MTU of the nodes' links, less the overhead of the network; use %d or less, "+askAgain)
	MigrationFitting     = New("migration-mtu", "must be left out, or be %d or %d, while spec.migration.mtu changes the one to the other")
	MigrationTurn        = New("change-during-migration", "cannot be changed during a migration; remove spec.migration, or swap from and to to roll back")
	MigrationEnds        = New("change-during-migration", "cannot be changed from %d to %d while a migration is completed or rolled back; put back %d, or leave it out")
	DuringMigration      = New("change-during-migration", "nothing else may change during an MTU migration"+putBack+", and change it once spec.migration is removed and the migration has ended")
)
