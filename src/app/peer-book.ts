import { join } from 'node:path'
import { nodeId } from '../../raft/index.ts'
import type { PeerBook, PeerLog } from '../../raft/index.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartFailure } from './errors.ts'

/** By which logs this member knows its peers, in a file of its data directory. */
export class FilePeerBook implements PeerBook {
  readonly #path: string
  #known: readonly PeerLog[]

  /** @throws StartFailure `data-directory` when the file is damaged */
  constructor(directory: string) {
    this.#path = join(directory, 'peers.json')
    this.#known = parsed(this.#path, readFileIfThere(this.#path) ?? '[]')
  }

  known(): readonly PeerLog[] {
    return this.#known
  }

  record(met: PeerLog): void {
    this.#known = [...this.#known.filter(({ peer }) => peer !== met.peer), met]
    replaceFile(this.#path, `${JSON.stringify(this.#known, null, 2)}\n`, 'public')
  }
}

function parsed(path: string, text: string): readonly PeerLog[] {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value)) throw new TypeError('a list')
    return value.map((one: unknown) => {
      if (typeof one !== 'object' || one === null || !('peer' in one) || !('logId' in one))
        throw new TypeError('a peer')
      if (typeof one.peer !== 'number' || typeof one.logId !== 'string') throw new TypeError('a peer')
      return { peer: nodeId(one.peer), logId: one.logId }
    })
  } catch (cause) {
    throw new StartFailure(
      'data-directory',
      `${path} is damaged: restore it from another copy of this directory`,
      { cause },
    )
  }
}
