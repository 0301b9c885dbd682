import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isRecord } from '../../base/record.ts'
import { nodeId } from '../../raft/index.ts'
import type { ClusterRecord, ClusterRecordStore, PeerLog } from '../../raft/index.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import { clusterFileName } from './layout.ts'

const format = 1

/** After the founding, the file is the same on all founders. */
const clusterRecordRemedy =
  'restore an undamaged copy of it, or take that of another initial member of this cluster, which is the same'

/**
 * The cluster of a data directory, and the logs that founded it. The file carries a checksum: with
 * a damaged ID this member could not take part in its own cluster.
 */
export class FileClusterRecord implements ClusterRecordStore {
  readonly path: string
  #record: ClusterRecord | null

  /** @throws StartError `data-directory` when the file is damaged or of a newer format */
  constructor(directory: string) {
    this.path = join(directory, clusterFileName)
    const text = readFileIfThere(this.path)
    this.#record = text === null ? null : parsed(this.path, text)
  }

  read(): ClusterRecord | null {
    return this.#record
  }

  write(record: ClusterRecord): void {
    const fields = fieldsOf(record)
    const whole = { format, sha256: checksum(fields), ...fields }
    replaceFile(this.path, `${JSON.stringify(whole, null, 2)}\n`, 'public')
    this.#record = record
  }
}

type Fields = {
  readonly clusterId: string
  readonly founded: boolean
  readonly founders: readonly { readonly id: string; readonly logId: string }[]
  readonly restored?: string
}

/** Ids are decimal text: they are wider than 32 bits. */
function fieldsOf({ clusterId, founded, founders, restored }: ClusterRecord): Fields {
  const logs = founders.map(({ peer, logId }) => ({ id: String(peer), logId }))
  return { clusterId, founded, founders: logs, ...(restored === undefined ? {} : { restored }) }
}

function parsed(path: string, text: string): ClusterRecord {
  const found = jsonIn(text)
  if (found !== null && typeof found['format'] === 'number' && found['format'] > format) {
    const what = `${path} is of format ${found['format']}, this program knows ${format}`
    throw new StartError('data-directory', `${what}: use the program that wrote it`)
  }
  const record = found === null ? null : recordIn(found)
  if (record !== null && found?.['sha256'] === checksum(fieldsOf(record))) return record
  throw new StartError('data-directory', `${path} is damaged: ${clusterRecordRemedy}`)
}

function jsonIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

function recordIn(fields: Readonly<Record<string, unknown>>): ClusterRecord | null {
  const { clusterId, founded, founders, restored } = fields
  if (typeof clusterId !== 'string' || typeof founded !== 'boolean' || !Array.isArray(founders)) return null
  const logs = founders.map(founderIn)
  if (restored !== undefined && typeof restored !== 'string') return null
  if (!logs.every((log) => log !== null)) return null
  return { clusterId, founded, founders: logs, ...(restored === undefined ? {} : { restored }) }
}

function founderIn(value: unknown): PeerLog | null {
  if (!isRecord(value)) return null
  const { id, logId } = value
  if (typeof id !== 'string' || typeof logId !== 'string' || !/^[1-9]\d{0,15}$/.test(id)) return null
  const peer = Number(id)
  return Number.isSafeInteger(peer) ? { peer: nodeId(peer), logId } : null
}

function checksum(fields: Fields): string {
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex')
}
