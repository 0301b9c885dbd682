/*
 * One ConfigMap with a number that only increases: a read that returns less than the acknowledged
 * value is stale.
 */
import { NoReply } from '../drivers/api-client.ts'
import type { ApiClient } from '../drivers/api-client.ts'
import { until } from '../tools/until.ts'

export const registerMaps = '/api/v1/namespaces/default/configmaps'
export const registerPath = `${registerMaps}/register`

/** The initial object; `registerMaps` is its collection. */
export const newRegister = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'register' },
  data: { value: '0' },
} as const

/** Writes `value`, again and again until it is acknowledged. */
export async function writeRegister(client: ApiClient, value: number): Promise<void> {
  let last = ''
  await until(
    `value ${value} is acknowledged`,
    async () => {
      try {
        const { status, text } = await client.patch(registerPath, { data: { value: String(value) } })
        last = text
        return status === 200
      } catch (cause) {
        if (!(cause instanceof NoReply)) throw cause
        last = cause.message
        return false
      }
    },
    () => last,
  )
}

export type RegisterSeen = {
  readonly value: number
  /** The mode of the read, as the response proves it. */
  readonly mode: string
}

/**
 * @param mode of `Orch-Consistency`; unset: no such header
 * @returns null: no response, or one without the number
 */
export async function readRegister(client: ApiClient, mode?: string): Promise<RegisterSeen | null> {
  const headers: Readonly<Record<string, string>> = mode === undefined ? {} : { 'orch-consistency': mode }
  try {
    const reply = await client.get(registerPath, { headers })
    if (reply.status !== 200) return null
    const { data } = JSON.parse(reply.text) as { data: { value: string } }
    return { value: Number(data.value), mode: String(reply.headers['orch-consistency']).split(';')[0] ?? '' }
  } catch (cause) {
    if (cause instanceof NoReply) return null
    throw cause
  }
}
