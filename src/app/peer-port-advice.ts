import type { Config } from '../config/config.ts'

/** The error of the consensus library when it cannot listen for peers. */
const cannotListen = /^cannot listen for peers on /

/** Adds the remedy to such an error, in terms of this program's flags. */
export function withPeerPortAdvice(cause: string, { name }: Pick<Config, 'name'>): string {
  if (!cannotListen.test(cause)) return cause
  const move = `orchctl member move ${name} --peer-address … sets another one`
  return `${cause}: check which process uses it, and check --peer-address and --peer-bind-address; ${move}`
}
