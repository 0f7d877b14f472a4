import seconder
from seconder.contrib._configured import options
for o in ({"API_KEY":""},{"ALLOW_LOOPBACK_HTTP":"false","URL":"http://127.0.0.1:1","API_KEY":"x"},{"TIMEOUT":"10","URL":"https://x.example","API_KEY":"x"},{"MUST_EXIST":"false","URL":"sqlite:/tmp/w/r2/x.db"},{"NAME_SERVERS":"192.0.2.1","URL":"https://x.example","API_KEY":"x"},{"TOKEN_LENGTH":"7"},{"NAMES":{"service":"acme"}},{"NAMES":"acme"},{"url":"x"}, {"DELIVER":""},{"API_KEY":"","URL":"sqlite:/tmp/w/r2/y.db"},{"API_KEY":"","URL":"https://x.example"},{"DELIVER":"os.path"}):
    o={"URL":"sandbox:",**o}
    try:
        g=options(o); s=seconder.open(**g); print(o,"ok"); s.close()
    except Exception as e: print(o,type(e).__name__,e)
