/** The manager of the fields that the server itself and its controllers write. */
export const ownUserAgent = 'orch-apiserver'
