import type { Config } from '../config/config.ts'

/** What the consensus library says of a member that its peers cannot dial. */
const cannotListen = /^cannot listen for peers on /

/** Adds to such a line what to do, in the words of this program's flags. */
export function withPeerPortAdvice(cause: string, { name }: Pick<Config, 'name'>): string {
  if (!cannotListen.test(cause)) return cause
  const move = `orchctl member move ${name} --peer-address … tells the others of another one`
  return `${cause}: see who has it, and what --peer-address and --peer-bind-address say; ${move}`
}
