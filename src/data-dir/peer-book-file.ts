import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { nodeId } from '../../raft/index.ts'
import type { NodeId, PeerBook, PeerLog } from '../../raft/index.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import { peerBookFileName } from './layout.ts'

const format = 1

/**
 * The logs by which this member identifies its peers, in a file of its data directory. The file
 * carries a checksum: with a changed digit this member would reject a healthy peer for ever, and
 * the peer would exit.
 */
export class FilePeerBook implements PeerBook {
  readonly path: string
  #known: readonly PeerLog[]

  /** @throws StartError `data-directory` when the file is damaged or of a newer format */
  constructor(directory: string) {
    this.path = join(directory, peerBookFileName)
    const text = readFileIfThere(this.path)
    this.#known = text === null ? [] : parsed(this.path, text)
  }

  known(): readonly PeerLog[] {
    return this.#known
  }

  record(met: PeerLog, current: ReadonlySet<NodeId>): void {
    const others = this.#known.filter(({ peer }) => peer !== met.peer && current.has(peer))
    this.#known = [...others, met]
    const book = { format, sha256: checksum(this.#known), peers: this.#known }
    replaceFile(this.path, `${JSON.stringify(book, null, 2)}\n`, 'public')
  }
}

function parsed(path: string, text: string): readonly PeerLog[] {
  const book = bookIn(text)
  if (book !== null && typeof book['format'] === 'number' && book['format'] > format) {
    throw new StartError(
      'data-directory',
      `${path} is of format ${book['format']}, this program knows ${format}: use the program that wrote it`,
    )
  }
  const peers = book?.['format'] === format ? peersIn(book['peers']) : null
  if (peers !== null && book?.['sha256'] === checksum(peers)) return peers
  throw new StartError(
    'data-directory',
    `${path} is damaged: restore an undamaged copy of it, or remove it when no peer has lost its data directory since`,
  )
}

function bookIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null
  } catch {
    return null
  }
}

function peersIn(value: unknown): readonly PeerLog[] | null {
  if (!Array.isArray(value)) return null
  const peers: PeerLog[] = []
  for (const one of value as readonly unknown[]) {
    if (typeof one !== 'object' || one === null || !('peer' in one) || !('logId' in one)) return null
    const { peer, logId } = one
    if (typeof peer !== 'number' || !Number.isSafeInteger(peer) || peer < 1) return null
    if (typeof logId !== 'string') return null
    peers.push({ peer: nodeId(peer), logId })
  }
  return peers
}

function checksum(peers: readonly PeerLog[]): string {
  const lines = peers.map(({ peer, logId }) => `${peer} ${logId}\n`)
  return createHash('sha256').update(lines.join('')).digest('hex')
}
