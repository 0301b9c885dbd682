/* As e2e/service-addresses, with 64 clients and a thousand Services. */
import { test } from 'node:test'
import { servicesRun } from '../support/runs/services-run.ts'

void test(
  '64 clients at three members create 1,000 Services across a killed leader',
  { timeout: 1_800_000 },
  (t) => servicesRun(t, { clients: 64, services: 1000 }),
)
