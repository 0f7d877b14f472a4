import seconder
from seconder.testing import Sandbox
with Sandbox() as s:
    svc=s.service
    u=svc.create_user("ada@example.com","555-010-0123",1).id
    a=svc.create_approval(u,"Transfer 5?")
    print(a.uuid)
    import inspect
    print([n for n in dir(s) if not n.startswith('_')])
    for v in (a.uuid.upper(), a.uuid.replace('-',''), a.uuid+' ', ' '+a.uuid, '{'+a.uuid+'}', a.uuid+'?x=1', a.uuid+'/', a.uuid+'%20'):
        try: print(repr(v), svc.check_approval(v).uuid)
        except Exception as e: print(repr(v), type(e).__name__, e)
    try: svc.check_phone_verification("555-010-0199",1,"1234")
    except Exception as e: print(type(e).__name__, e.http_status, e)
    svc.start_phone_verification("sms","555-010-0199",1)
    try: svc.check_phone_verification("555-010-0199",1,"1234")
    except Exception as e: print(type(e).__name__, e.http_status, e)
    try: svc.delete_user(999)
    except Exception as e: print(type(e).__name__, type(e).__mro__, e.http_status, e)
