import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { Server, ServerCredentials, status } from '@grpc/grpc-js'
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'

type Fields = ReadonlyMap<number, Uint8Array>
type Call = ServerUnaryCall<Uint8Array, Uint8Array>

const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8')
const plain = (bytes: Uint8Array): Buffer => Buffer.from(bytes)

/**
 * A key management service on a unix socket, with version 2 of the API. Tests may change its
 * behavior while it runs. It encrypts a text by XOR with a byte that is computed from the key ID.
 */
export class FakeKmsService {
  readonly directory = mkdtempSync(join(tmpdir(), 'orch-kms-'))
  readonly socket = join(this.directory, 'kms.sock')
  keyId = 'key-1'
  version = 'v2'
  healthz = 'ok'
  /** Ms that each response takes. */
  delayMs = 0
  refuses = false
  /** Replaces the response of a method. */
  readonly answers = new Map<string, Uint8Array>()
  readonly calls: string[] = []
  #server: Server | null = null

  async start(): Promise<void> {
    const server = new Server()
    const method = (name: string) => ({
      path: `/v2.KeyManagementService/${name}`,
      requestStream: false as const,
      responseStream: false as const,
      requestSerialize: plain,
      requestDeserialize: plain,
      responseSerialize: plain,
      responseDeserialize: plain,
    })
    server.addService(
      { Status: method('Status'), Encrypt: method('Encrypt'), Decrypt: method('Decrypt') },
      {
        Status: (call: Call, done: sendUnaryData<Uint8Array>) => void this.#answer('Status', call, done),
        Encrypt: (call: Call, done: sendUnaryData<Uint8Array>) => void this.#answer('Encrypt', call, done),
        Decrypt: (call: Call, done: sendUnaryData<Uint8Array>) => void this.#answer('Decrypt', call, done),
      },
    )
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.socket}`, ServerCredentials.createInsecure(), (cause) =>
        cause === null ? resolve() : reject(cause),
      )
    })
  }

  /** Ends the service, its connections included. */
  stop(): void {
    this.#server?.forceShutdown()
    this.#server = null
  }

  remove(): void {
    this.stop()
    rmSync(this.directory, { recursive: true, force: true })
  }

  countOf(method: string): number {
    return this.calls.filter((call) => call === method).length
  }

  async #answer(name: string, { request }: Call, done: sendUnaryData<Uint8Array>): Promise<void> {
    this.calls.push(name)
    if (this.delayMs > 0) await sleep(this.delayMs, undefined, { ref: false })
    if (this.refuses) {
      done({ code: status.PERMISSION_DENIED, details: 'these details have a secret' })
      return
    }
    done(null, this.answers.get(name) ?? this.#response(name, fieldsOf(request)))
  }

  #response(name: string, fields: Fields): Uint8Array {
    const writer = new BinaryWriter()
    switch (name) {
      case 'Status':
        for (const [at, text] of [this.version, this.healthz, this.keyId].entries())
          writer.uint32(tagOf(at + 1)).string(text)
        return writer.finish()
      case 'Encrypt':
        writer.uint32(tagOf(1)).bytes(masked(fields.get(1), this.keyId))
        writer.uint32(tagOf(2)).string(this.keyId)
        // An annotation: a map has entries of key and value.
        writer.uint32(tagOf(3)).fork().uint32(tagOf(1)).string('site.example.com')
        return writer.uint32(tagOf(2)).bytes(Buffer.from('here')).join().finish()
      default:
        if (!textOf(fields.get(4)).includes('site.example.com')) return new Uint8Array(0)
        return writer
          .uint32(tagOf(1))
          .bytes(masked(fields.get(1), textOf(fields.get(3))))
          .finish()
    }
  }
}

function tagOf(field: number): number {
  return (field << 3) | 2
}

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes)
  const fields = new Map<number, Uint8Array>()
  while (reader.pos < reader.len) fields.set(reader.tag()[0], reader.bytes())
  return fields
}

function masked(text: Uint8Array | undefined, keyId: string): Uint8Array {
  const mask = keyId.split('').reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) & 255, 7)
  return Uint8Array.from(text ?? [], (byte) => byte ^ mask)
}
