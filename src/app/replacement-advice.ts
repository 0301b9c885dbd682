import type { Config } from '../config/config.ts'
import { clientAddress } from '../config/client-address.ts'

/** What the consensus library says of a member that may have lost a vote or an entry. */
const isLost =
  /promised to keep (?:are|is) lost|know this member by another log|it must be replaced by a new member/

/**
 * A member that may have forgotten what it promised never votes again under its id. Adds to such a line the command that
 * puts another one in its place; at the same addresses, if the machine is to go on. Who is alone has nobody to take the state
 * from: a snapshot is restored.
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
