import { Client, credentials } from '@grpc/grpc-js'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import {
  KmsError,
  decodeDecryptResponse,
  decodeEncryptResponse,
  decodeStatus,
  encodeDecryptRequest,
  encodeEncryptRequest,
} from './kms-messages.ts'
import type { KmsStatus, WrappedKey } from './kms-messages.ts'

export type KmsClientOptions = {
  readonly clock: Clock
  readonly random: Random
  /** Path of the unix socket. */
  readonly socket: string
  readonly timeoutMs: number
}

/** The calls of a key management service. */
export interface KmsService {
  status(): Promise<KmsStatus>
  encrypt(plaintext: Uint8Array): Promise<WrappedKey>
  decrypt(wrapped: WrappedKey): Promise<Uint8Array>
  close(): void
}

/** Versions of the API that services report; they have the same messages. */
const versions = ['v2', 'v2beta1']
const messageBytesMax = 64 * 1024

/** Calls a key management service by version 2 of the KMS API. Every call has a time limit. */
export class KmsClient implements KmsService {
  readonly #options: KmsClientOptions
  readonly #client: Client
  #isClosed = false

  constructor(options: KmsClientOptions) {
    this.#options = options
    this.#client = new Client(`unix:${options.socket}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': messageBytesMax,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.use_local_subchannel_pool': 1,
    })
  }

  /** @throws KmsError */
  async status(): Promise<KmsStatus> {
    const status = decodeStatus(await this.#call('Status', new Uint8Array(0)))
    if (!versions.includes(status.version)) {
      throw new KmsError('malformed', 'the key management service does not support version v2 of the API')
    }
    if (status.healthz !== 'ok')
      throw new KmsError('unavailable', 'the key management service is not healthy')
    if (status.keyId === '') throw new KmsError('malformed', 'the response to Status has no key_id')
    return status
  }

  /** @throws KmsError */
  async encrypt(plaintext: Uint8Array): Promise<WrappedKey> {
    return decodeEncryptResponse(await this.#call('Encrypt', encodeEncryptRequest(plaintext, this.#uid())))
  }

  /** @throws KmsError */
  async decrypt(wrapped: WrappedKey): Promise<Uint8Array> {
    return decodeDecryptResponse(await this.#call('Decrypt', encodeDecryptRequest(wrapped, this.#uid())))
  }

  close(): void {
    this.#isClosed = true
    this.#client.close()
  }

  /** Identifies a call in the log of the service. */
  #uid(): string {
    return Buffer.from(this.#options.random.bytes(16)).toString('hex')
  }

  #call(method: string, request: Uint8Array): Promise<Uint8Array> {
    const { clock, timeoutMs } = this.#options
    const path = `/v2.KeyManagementService/${method}`
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new KmsError('unavailable', 'the key is not in use any longer')
      this.#client.makeUnaryRequest<Uint8Array, Uint8Array>(
        path,
        (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        (bytes) => bytes,
        request,
        { deadline: clock.wallMs() + timeoutMs },
        (error, response) => {
          // The error details of the service are omitted: they may contain the request.
          const failed = `${method} of the key management service failed`
          if (error !== null) reject(new KmsError('unavailable', `${failed}: gRPC code ${error.code}`))
          else if (response === undefined) reject(new KmsError('malformed', `${failed}: empty response`))
          else resolve(response)
        },
      )
    })
  }
}
