/** Of the data directory, as are the next. */
export const claimFileName = 'member.json'

/** Is there while `orchctl` makes the directory. */
export const unfinishedFileName = 'unfinished'

export const logFolder = 'log'

export const databaseFolder = 'db'

/** Of the data directory. */
export const foundingFileName = 'founding'

/** Of the data directory. */
export const clusterFileName = 'cluster.json'

/** Of the data directory. */
export const peerBookFileName = 'peers.json'

/** In the data directory. */
export const leasePromiseFileName = 'lease-promise'

/** Of the data directory: one line, the port in decimal. Only where `--secure-port` is 0. */
export const clientPortFileName = 'client-port'

/** Of the data directory, while joining is under way. */
export const joiningFileName = 'joining'
