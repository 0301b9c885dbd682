/** The identity of the member that owns the data directory. */
export const claimFileName = 'member.json'

/** Exists while `orchctl` creates the directory. */
export const unfinishedFileName = 'unfinished'

export const logFolder = 'log'

export const databaseFolder = 'db'

/** The fingerprint of the initial members. */
export const foundingFileName = 'founding'

/** The cluster of the directory and the logs that founded it. */
export const clusterFileName = 'cluster.json'

/** Lists the encrypted resources of which the database and the log hold no plain text. */
export const encryptedResourcesFileName = 'encrypted-resources'

/** The log ids of the peers. */
export const peerBookFileName = 'peers.json'

/** The length of the longest lease promise of this member that may be in force. */
export const leasePromiseFileName = 'lease-promise'

/** The client port in decimal, on one line. Only with `--secure-port 0`. */
export const clientPortFileName = 'client-port'

/** Exists while the member joins a cluster. */
export const joiningFileName = 'joining'

/** The private key that decrypts what is sealed for this member. */
export const sealingKeyFileName = 'sealing.key'
