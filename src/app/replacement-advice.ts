import type { Config } from '../config/config.ts'
import { clientAddress } from '../config/client-address.ts'

/** Errors of the consensus library about a member that may have lost a vote or an entry. */
const isLost =
  /promised to keep (?:are|is) lost|know this member by another log|it must be replaced by a new member/

/**
 * Adds to such an error the command that replaces the member, at the same addresses. A member that
 * may have forgotten a promise never votes again under its id. A single member has no peer to fetch
 * the state from, so the advice is to restore a snapshot.
 */
export function withReplacement(cause: string, config: Config): string {
  if (!isLost.test(cause)) return cause
  const peers = config['peer-address'] || ownPeerAddress(config)
  if (peers === '')
    return `${cause}; if it is the only one: orchctl snapshot restore, with an empty --data-dir`
  const addresses = `--peer-address ${peers} --client-address ${clientAddress(config)}`
  const command = `orchctl member replace ${config.name} NEW-NAME ${addresses} --pki PKI-DIR`
  return `${cause}: ${command}, and an empty --data-dir`
}

function ownPeerAddress(config: Config): string {
  return config['initial-members'].find(({ name }) => name === config.name)?.peerAddress ?? ''
}
